package binaries

// Lock is lock, for a test that stands in for another process.
var Lock = lock
