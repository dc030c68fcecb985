"""Settings of a build by their names, whichever of their parts these are in."""

from starter.contest.named_settings import settings_of
from starter.contest.settings import Settings


def accuracy_settings(**chosen: object) -> Settings:
    """Settings of the accuracy track."""
    return settings_of("accuracy", chosen)


def ood_settings(**chosen: object) -> Settings:
    """Settings of the OOD track."""
    return settings_of("ood", chosen)


def changed(settings: Settings, **changes: object) -> Settings:
    """The same settings but for some."""
    return settings_of(settings.track, {**settings.model_dump(exclude={"track"}), **changes})
