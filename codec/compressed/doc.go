// Package compressed stores objects as compressed JSON, for large caches: a pod of 4.7
// KB takes 500 to 800 bytes. One [Compressor] compresses the objects of one collection,
// with a dictionary made of earlier ones, as an informer's Transform:
//
//	var c compressed.Compressor
//	pods := cache.New(client.Of[compressed.Raw](cl, kube.Pods),
//		cache.Options[compressed.Raw]{Transform: c.Compress})
//
// Namespace, name, UID and revision are read without decompressing. All other data,
// labels included, is decompressed and parsed at each call, which takes about ten
// microseconds. So it suits hundreds of thousands of objects that are looked up one by
// one. It does not suit a cache whose objects are all read again and again, a few
// thousand objects, or programs that need only some fields: for those a struct with
// these fields is faster to read.
//
// The dictionary is made again when objects differ too much from it. Objects that were
// compressed before keep the old one, of up to 64 KB, in memory until the last of them
// is released.
package compressed
