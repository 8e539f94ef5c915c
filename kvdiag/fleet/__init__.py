"""Many nodes: each bundle judged by a process of its own, results as Parquet, what shows only across nodes added."""
