#!/usr/bin/env python3
"""spark.py <NAMES: the summaries of the files as acp-usage --merge reads them, each made where Spark runs the task."""
import os
import sys

from pyspark import SparkConf, SparkContext

conf = SparkConf().setMaster("local[2]").setAppName("acp-usage").set("spark.ui.enabled", "false")
spark = SparkContext(conf=conf.set("spark.driver.host", "127.0.0.1").set("spark.driver.bindAddress", "127.0.0.1"))
# A task's process has no environment but this.
files = spark.parallelize(sys.stdin.read().splitlines(), 16)
for line in files.pipe("xargs acp-usage --summary -f json", {"PATH": os.environ["PATH"]}, True).toLocalIterator():
	print(line)
spark.stop()
