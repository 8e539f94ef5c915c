"""What a program wrote: klog, logrus, zap, events of the cluster, crashes; and the values in it."""
