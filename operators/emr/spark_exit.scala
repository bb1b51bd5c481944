// The end of a script that spark-shell reads: without it the shell would wait for more.
System.exit(0)
