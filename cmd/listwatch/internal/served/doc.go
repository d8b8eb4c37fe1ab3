// Package served keeps on disk what servers serve, so that a command needs no request to
// know what a type means, or one that the server answers with "not modified".
//
// The files are beside those of kubectl, in a folder of their own: kubectl splits what a
// server describes by group and version, and leaves out the ETags, so that its files can
// only be old or be fetched again. "rm -r ~/.kube/cache" removes both.
package served
