// Package auth has the command auth check, and advice about errors: which user the server
// sees, what that user may do, and what is between the program and the server.
package auth
