// Package columns computes the columns and cells of Tables, as in kubectl get: a
// [Printer] has those of one resource, a [Row] gets the cells of one object.
//
// Cells are printed as by kube-apiserver, and no object fails to print: a value of an
// unexpected type counts as missing. [Custom] prints the columns of a definition.
// another type than expected counts as missing. [Custom] prints what a definition asks for.
package columns
