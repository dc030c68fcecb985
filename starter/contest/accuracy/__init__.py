"""The accuracy track: the accuracy of classifiers on shifted sets."""
