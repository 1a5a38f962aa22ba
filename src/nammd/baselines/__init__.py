"""Published methods to compare with, under the names that they had before `nammd.methods`."""
