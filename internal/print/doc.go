// Package print makes the formats of -o from records.
package print
