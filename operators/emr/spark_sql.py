# Runs the query of a file and writes its result: spark_sql.py QUERY_FILE RESULT
import sys

from pyspark.sql import SparkSession

with open(sys.argv[1]) as f:
    query = f.read()
spark = SparkSession.builder.appName("spark-sql").getOrCreate()
spark.sql(query).write.option("header", "true").csv(sys.argv[2])
spark.stop()
