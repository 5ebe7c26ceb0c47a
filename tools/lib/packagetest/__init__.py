"""What tools/package_test tries, a module for each kind of package."""
