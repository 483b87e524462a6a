"""`innkeeper doctor`: what is installed and whether this machine is fit, each finding with a remedy."""
