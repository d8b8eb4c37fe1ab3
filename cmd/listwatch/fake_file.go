package main

import "os"

// replaceable refuses what is no file: a link may lead to anywhere, and renaming a file
// over /dev/stdout would take it from all programs. A path that is empty or not there
// yet is left to those who write it.
func replaceable(flag, path string) error {
	if fi, err := os.Lstat(path); err == nil && !fi.Mode().IsRegular() {
		return usage("%s: %s is no file that could be replaced: give the name of a file", flag, clip(path))
	}
	return nil
}
