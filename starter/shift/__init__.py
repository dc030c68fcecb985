"""How far images are from the ID images in meaning and in style: LAID, ruler, degrees, grid."""
