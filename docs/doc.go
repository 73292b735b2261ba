// Package docs holds the documentation. Its tests check what a machine can check about it: that links lead somewhere, and
// that the tests named as evidence exist.
package docs
