// Package crd makes CustomResourceDefinitions from Go structs, without a generator, and
// installs them.
//
//	greetings := kube.Resource{Group: "example.com", Version: "v1", Plural: "greetings", Kind: "Greeting", Namespaced: true}
//	def, err := crd.Of[Greeting](greetings, crd.Options{ShortNames: []string{"gr"}})
//	err = crd.Ensure(ctx, c, crd.EnsureOptions{}, def)
//
// [Of] reads the struct as encoding/json does. A member is required unless its json tag
// has omitempty or omitzero, it is of an embedded pointer, or it has a default; status is a
// subresource. These tags add to the type:
//
//	crd:"..."      words: required, optional, nullable, min=N, max=N (of a number, or of the
//	               length of anything else), exclusiveMin, exclusiveMax, multipleOf=N,
//	               enum=a|b, default=V, format=F, listType=atomic|set|map, listMapKey=NAME,
//	               mapType=atomic|granular, preserve (unknown members), embedded (a whole
//	               object), immutable (not changed, added or removed), selectable
//	each:"..."     such words for the elements of a list or the values of a map
//	default:"..."  default, in JSON unless it is a string; may contain commas
//	pattern:"..."  regular expression for a string
//	cel:"..."      rule, with a message:"..."; cel2 and message2 are another one
//	column:"..."   NAME[,PATH][,priority=N][,type=T] of kubectl get; column2 is another one
//	desc:"..."     description
//
// Fields _ struct{} carry the tags of the struct itself, such as rules over several
// members. Immutable is a rule of the struct around the member, which the server
// evaluates while that struct exists before and after.
//
// CEL is compiled only by a server: [Ensure] with DryRun checks it. [Diff] names the
// changes that break stored objects or clients, [Check] the objects that do not fit.
package crd
