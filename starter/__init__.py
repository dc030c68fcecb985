"""What a competition is built from and observed with."""

import os

# Before OpenCV is first imported, which reads it once: the most pixels that it decodes.
os.environ.setdefault("OPENCV_IO_MAX_IMAGE_PIXELS", str(64 * 10**6))
