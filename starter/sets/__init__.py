"""How an unlabelled set is made: a recipe or a mix, and its rendering."""
