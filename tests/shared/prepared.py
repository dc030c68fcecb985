"""What commands on classes and on shifts work on: files in the working folder."""

from dataclasses import replace

from command_line import run
from encoders import whole_laid
from taxonomy import write_class_zip, write_taxonomy

from starter.data.wordnet.labels import load_classes
from starter.models.classifiers import read_classifier, save_classifier


def class_files(folder, weights, monkeypatch):
    """A small taxonomy, images of classes, a manifest of them, and a classifier of CIFAR-10's classes."""
    monkeypatch.setenv("WNSEARCHDIR", str(write_taxonomy(folder / "wordnet")))
    write_class_zip(folder / "tiny_imagenet.zip", ("fox", "go-kart", "griffin", "poodle"))
    write_class_zip(folder / "cifar10.zip", load_classes("cifar10")[1])
    named = replace(read_classifier(weights), classes=load_classes("cifar10")[1])
    save_classifier(named, folder / "small.safetensors")
    return run("classes", "assign", "--candidates", "tiny_imagenet.zip", "--out", "manifest.csv")


def embedded_laid(folder, monkeypatch):
    """In `laid`, a matrix for the embedded encoder; photographs."""
    whole_laid().save(folder / "laid/laid.safetensors")
    (folder / "unseen-demo").symlink_to(folder / "contest")
    monkeypatch.setattr("starter.models.encoders.two_tower.PHOTO_EPOCHS", (0, 1))
    for name in ("cifar10", "cifar100"):
        write_class_zip(folder / f"{name}.zip", (f"{name} fox", f"{name} poodle"), 60)
