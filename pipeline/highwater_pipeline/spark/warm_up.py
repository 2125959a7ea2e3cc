"""``python -m highwater_pipeline.spark.warm_up``: make Spark start faster on this machine from now on."""

from __future__ import annotations

import sys

from highwater_pipeline.spark.class_archive import make_archive

if __name__ == "__main__":
    sys.stdout.write(f"{make_archive()}\n")
