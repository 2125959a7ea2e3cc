"""The kinds of faults, by what they do it to: processes, disks, the network, the node program itself."""
