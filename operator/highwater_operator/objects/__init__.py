"""What a LogCluster consists of in Kubernetes, as pure functions from the resource to objects.

One file a kind of object. Nothing here talks to an API server: :mod:`highwater_operator.reconcile` applies what
:func:`highwater_operator.objects.all.objects_of` says, and nothing else ever writes these objects.
"""
