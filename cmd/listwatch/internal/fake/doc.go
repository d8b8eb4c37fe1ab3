// Package fake is the command fake: a server for tests, with its files, faults and scenarios.
package fake
