// Package intake limits the memory of the bodies of requests, all together, and of what
// requests decode.
//
// The first 16 KiB of a body are free: small bodies wait for none, and whoever only says
// that a body is large takes nothing from others. Then all of it counts, until it is not
// used any more. Where others wait, a body whose client sends slowly gives way to them.
package intake
