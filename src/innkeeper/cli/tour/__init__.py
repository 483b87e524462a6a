"""`innkeeper tour`: the main job, shown unattended with a real host, a real server and real processes."""
