"""``highwater-zookeeper``: a ZooKeeper server as the process of a pod, and the words that one asks a server by.

Objects, operator and program share the names here; none of them knows the others.
"""
