"""What the tests in the folder above share: the C interface, a way to run tests, and the formulas they compare with."""
