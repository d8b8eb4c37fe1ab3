// Package listen opens the program's own servers: it checks addresses, and serves behind
// the guard against web pages.
package listen
