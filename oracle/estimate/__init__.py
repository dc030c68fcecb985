"""How accurate is a model on unlabelled images? An estimate without a competition."""
