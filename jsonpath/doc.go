// Package jsonpath is kubectl's dialect of JSONPath: templates such as
//
//	{range .items[*]}{.metadata.name}{"\t"}{.status.phase}{"\n"}{end}
//	{.status.conditions[?(@.type=="Ready")].status}
//
// as kubectl get -o jsonpath, custom columns, kubectl wait and the printer
// columns of a CustomResourceDefinition take them. It is not that of RFC 9535. See
// https://kubernetes.io/docs/reference/kubectl/jsonpath/.
//
// Text stands as it is; an action in braces is a path from the object at hand,
// which $ and @ both mean:
//
//	.name  ['name']     a member; a dot in its name is written \.
//	[2]  [-1]           an element, from the end if negative
//	[0:3]  [::2]  [*]   some elements, or all
//	.*  ..name          every member; a member at any depth
//	['a','b']  [0,2]    several of these
//	[?(@.a=="x")]       the elements for which that holds: == != < <= > >=, or only a path
//	"\n"  'text'        text
//	range PATH ... end  what stands between, once for each value
//
// A member that is missing is nothing, and prints as nothing; an element that is
// missing, and a comparison of a number with a string, is an error.
//
// It differs from kubectl in five ways. The members of an object come in the order
// of their names, where kubectl's order is chance. An empty list among others
// does not hide those after it. A string has no elements. A filter that asks whether
// there is an element, such as [?(@.a[1])], is answered. And a mistake in a
// template, a range without its end included, is found before anything is printed.
package jsonpath
