// Package complete has what shells complete: types, names and the values of flags.
package complete
