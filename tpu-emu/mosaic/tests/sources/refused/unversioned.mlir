module { }
