// Package columns makes the columns and cells of Tables, as kubectl get shows them: a
// [Printer] has those of one resource, a [Row] is filled with the cells of one object.
//
// Cells are printed as kube-apiserver does, and no object fails to print: what is of
// another type than expected counts as missing. [Custom] prints what a definition asks for.
package columns
