// Package markers makes CustomResourceDefinitions from Go source with the markers of
// kubebuilder, as controller-gen crd does, for those who move to package crd or keep
// their types.
//
// [Read] parses the packages below a folder, by the files that are built on this system. Types of
// other packages are read from their source, which the go command finds. It runs no other program,
// such as git or the go command of a toolchain line, and downloads nothing. The marker comments
// that change a definition and are not known here, or stand behind a field, are errors; those of
// other generators are ignored. Of the limits of a field and its type both count. A default value,
// a title, an example and +k8s:immutable are those of a field: as for controller-gen, they have no
// effect on a type. What the types make is limited, in size and in depth.
// The plural of a kind is that of controller-gen, but for rare words: where the name of the
// resource matters, path= of +kubebuilder:resource decides.
//
// Unlike controller-gen, the schema does not have the members apiVersion, kind and
// metadata of the whole object, which the server adds, an ObjectMeta inside a spec keeps
// its labels and annotations, and a RawExtension its members.
package markers
