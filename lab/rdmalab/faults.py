"""placeholder"""


def active(lab):
    return {}
