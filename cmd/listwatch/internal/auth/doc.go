// Package auth is the command auth check, and what to do about an error: who we are, what we
// may do, and what lies between us and the server.
package auth
