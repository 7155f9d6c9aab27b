"""Tests of the lab itself: test_quick needs no VM; the others boot nodes."""
