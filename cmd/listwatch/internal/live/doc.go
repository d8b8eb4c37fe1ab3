// Package live is the screen of watch --live.
package live
