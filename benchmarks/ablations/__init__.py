"""What each way to be faster gives: each is switched off alone, the others stay on."""
