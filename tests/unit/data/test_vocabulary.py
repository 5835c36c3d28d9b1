import pytest

from unmask.data.vocabulary import END, Vocabulary, words_of
from unmask.errors import ConfigError, DataError

CAPTIONS = ["Woman astronaut, dark skin tone", "man", None, "T-shirt/top"]


@pytest.fixture
def vocabulary() -> Vocabulary:
    return Vocabulary.of(CAPTIONS, max_length=4)


def test_words_are_lower_case_and_plain():
    assert words_of("  Don't_stop: ÉTÉ, 3d!") == ["don't", "stop", "été", "3d"]


def test_a_row_has_room_for_the_longest_caption_up_to_the_limit(vocabulary):
    assert vocabulary.length == 4
    assert Vocabulary.of(CAPTIONS, max_length=9).length == 8  # a power of two, for five words
    assert Vocabulary.of(["cat", "dog"], max_length=9).length == 1


def test_what_does_not_fit_is_cut_off_and_not_in_the_table(vocabulary):
    assert "tone" not in vocabulary.words
    assert vocabulary.decode(vocabulary.encode(CAPTIONS[0])) == "woman astronaut dark skin"


def test_short_captions_end_early(vocabulary):
    tokens = vocabulary.encode("man")
    assert tokens[1:] == [END] * 3
    assert vocabulary.decode(tokens) == "man"


def test_unknown_words_of_data_are_left_out_and_of_prompts_named(vocabulary):
    assert vocabulary.encode("man zebra") == vocabulary.encode("man")
    with pytest.raises(ConfigError, match=r"not know 'womam' \(near: woman.*\) or 'zebra' \(known: .*man"):
        vocabulary.encode_prompt("womam zebra man")


def test_of_many_words_only_near_ones_are_named():
    many = Vocabulary(tuple(f"word{number}" for number in range(40)), 4)
    with pytest.raises(ConfigError, match=r"does not know 'zebra'$"):
        many.encode_prompt("zebra")


def test_a_prompt_that_is_too_long_is_refused(vocabulary):
    assert vocabulary.encode_prompt("astronaut man") == vocabulary.encode("astronaut, man")[:2]
    with pytest.raises(ConfigError, match="5 words"):
        vocabulary.encode_prompt("man man man man man")


def test_captions_without_words_make_no_vocabulary():
    with pytest.raises(DataError, match="no word"):
        Vocabulary.of(["!?", None], max_length=4)


@pytest.mark.parametrize(
    ("caption", "known"),
    [("man, WOMAN", True), ("man zebra", False), ("", False), ("man man man man man", False)],
)
def test_a_caption_is_known_by_all_of_its_words(vocabulary, caption, known):
    assert vocabulary.knows(caption) is known
