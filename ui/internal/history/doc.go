// Package history keeps the states of objects within a budget of bytes: the newest state
// of each as it is, and each earlier one as its difference to the state after it. What
// was kept first is dropped first, over all objects, and the store says since when it is
// complete.
package history
