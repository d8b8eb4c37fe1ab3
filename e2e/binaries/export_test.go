package binaries

// Lock is lock, for a test that stands in for another process.
var Lock = lock

// Hash is hash, for a test with folders of its own.
var Hash = hash
