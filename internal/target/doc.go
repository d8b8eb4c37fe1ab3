// Package target finds what is listed and watched: types, names and namespaces that were typed.
package target
