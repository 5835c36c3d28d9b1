"""How fast things are, each as a ratio to a named baseline measured in the same run.

    python -m benchmarks              every benchmark
    python -m benchmarks images ...   some of them

A benchmark is a module here with a ``main()``; it times contestants with ``measure.interleave`` and reports
them with ``measure.row``, one row for each, to stdout and to ``results.jsonl``.
"""
