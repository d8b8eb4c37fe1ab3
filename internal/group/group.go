// Package group ends a command together with all that it started, which a signal
// to the command alone does not: a shell dies, and what it waited for goes on. The
// command gets a process group of its own, and what is sent goes to the group.
// Where a system has no process groups, os/exec kills the command alone.
//
// A command in a group of its own does not get the SIGINT of a terminal, and may
// not read one. What leaves the group, by setsid for example, is not reached.
package group
