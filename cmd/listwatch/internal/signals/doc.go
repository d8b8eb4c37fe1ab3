// Package signals ends the program by SIGINT, SIGTERM and SIGHUP: first in good order, then
// at once.
package signals
