from unmask.studio.tasks import warm_up


def test_warming_up_goes_for_both_kinds_of_priors(model, autoregressive):
    warm_up(model)
    warm_up(autoregressive)
